"""What a campaign can test: one module a target."""
