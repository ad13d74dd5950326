"""`make fuzz`: many more random inputs than the tests take time for."""
