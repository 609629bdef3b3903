"""Attacks on vse-ens, one function each, which say how many were tried and which did not hold."""
