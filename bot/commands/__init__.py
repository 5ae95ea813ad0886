"""Everything a person may ask for, one function each, whichever door it came in by."""
