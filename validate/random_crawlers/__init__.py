"""Random crawlers that the cross-check is calibrated on."""
