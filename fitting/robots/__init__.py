"""The robots behind a log: what they fetch at the same time, how long a fetch takes, what fewer of them bring."""
