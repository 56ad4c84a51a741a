"""Pages of a local server that answer while they are viewed: `explain` with sliders, and runs while they go on."""
