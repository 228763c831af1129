"""The command line, one file per command; `tables` holds what people see of each answer."""
