"""Pure statistics: frames and values in, frozen results out. Imports nothing of the other packages."""
