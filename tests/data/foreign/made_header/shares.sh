#!/bin/sh
# Prints the header.
share=$((60 + 5))
echo '#define MADE_NAME "made"'
echo "#define MADE_SHARE $share"
