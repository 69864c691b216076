#!/bin/sh
# Says which lines of data/*.csv are not "date,time,height". Exit code 1 when there are any.
cd "$(dirname "$0")/.." || exit 2

form='^[0-9]{4}-[0-9]{2}-[0-9]{2},[0-9]{2}:[0-9]{2},-?[0-9]+\.[0-9]{2}$'
bad=$(grep -HnEv "$form" data/*.csv | grep -v ':1:date,time,height$')

if [ -n "$bad" ]; then
  echo "not in the agreed form:"
  echo "$bad"
  exit 1
fi
echo "all lines are in the agreed form"
