#!/bin/sh
. "$(dirname -- "$0")/../prepare.sh"
