"""The version number of the formats in this package. Pure.

An image and a controller understand each other if both have the same number. The number grows with every change after
which an older reader would go wrong."""

FORMAT = 2
