"""x"""

CONTESTS = ()
