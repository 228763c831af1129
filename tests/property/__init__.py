"""Statements that hold for every model, tried on models that hypothesis makes."""
