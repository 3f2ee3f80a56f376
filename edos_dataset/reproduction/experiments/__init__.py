"""The experiments: a module for each kind of data, a function for each table; each returns figures by name."""
