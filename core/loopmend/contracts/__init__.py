"""The five contracts, faithful to their specifications to the letter.

Each is a pure function over frozen values. They are exact, not clever: what real models
emit is read by the layer above. Nothing in here may import from outside this package but
`loopmend.errors`, `loopmend.wire` and the private helpers.
"""
