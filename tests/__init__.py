"""Tests mirror the packages; every folder here is a package so that none of them can shadow the product's."""
