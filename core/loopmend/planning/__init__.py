"""Planning around the contract: what is known, what is advised, told and explained."""
