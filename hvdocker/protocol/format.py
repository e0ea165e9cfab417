"""The version number of the formats in this package. Pure.

An image and a controller understand each other if both have the same number. The number is increased with every
change that an older reader would misunderstand."""

FORMAT = 2
