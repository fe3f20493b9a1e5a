"""The hook handlers: one module an event, standard library only, Python 3.9."""
