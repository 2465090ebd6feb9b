"""The benchmark: speed and size as ratios that are measured in one run, never asserted."""
