"""Jobs that exist: finding, following, stopping, fetching and comparing them."""
