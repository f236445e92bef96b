#!/bin/sh
# Makes the keys and certificates of the tests in the current directory.
set -eu

key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1.key"; }
authority() {
    key "$1"
    openssl req -x509 -new -key "$1.key" -days 73000 -subj "/CN=$1" -out "$1.pem" \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
}
# signed NAME AUTHORITY START END
signed() {
    key "$1"
    printf 'basicConstraints=CA:FALSE\nsubjectAltName=DNS:localhost\n' > extensions
    openssl req -new -key "$1.key" -subj "/CN=$1" -out request
    rm -rf ca && mkdir ca && : > ca/index && echo 01 > ca/serial
    printf '[ca]\ndefault_ca=d\n[d]\ndatabase=ca/index\nserial=ca/serial\nnew_certs_dir=ca\ndefault_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n' > config
    openssl ca -batch -notext -config config -keyfile "$2.key" -cert "$2.pem" -in request -out "$1.pem" \
        -extfile extensions -startdate "$3" -enddate "$4"
    rm -rf ca config extensions request
}
authority authority
authority stranger
signed server authority 20200101000000Z 22200101000000Z
signed client authority 20200101000000Z 22200101000000Z
signed expired authority 20200101000000Z 20210101000000Z
signed foreign stranger 20200101000000Z 22200101000000Z
