"""Pages of a local server that answer while they are looked at: `explain` with sliders, and runs as they go on."""
