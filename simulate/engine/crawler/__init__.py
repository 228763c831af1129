"""Parts of the reference engine: account, alarms, controllers, robots that finish their fetch, walks."""
