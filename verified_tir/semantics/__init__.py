"""What programs mean: a reference interpreter over arrays, and an encoding into logic."""
