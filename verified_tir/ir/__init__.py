"""What programs are: types, expressions, statements, buffers, functions; text in and out."""
