"""Reading what models really emit: any form, and only what was meant."""
