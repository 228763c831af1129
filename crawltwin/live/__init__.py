"""The twin beside a running crawler: obey a policy, record what happens, watch a growing log."""
