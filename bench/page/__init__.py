"""The benchmark page: cases that measure, limits beside them, the page, and what is kept."""
