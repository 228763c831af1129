"""Controllers with a memory: hysteresis, polling, robots that finish their fetch, costs of switching."""
