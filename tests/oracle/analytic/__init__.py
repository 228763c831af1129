"""The chain against closed forms and chains written state by state."""
