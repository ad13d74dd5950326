"""Reading what models really emit: any dialect, repaired where that is sure."""
