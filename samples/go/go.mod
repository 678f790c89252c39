module sidbeam.io/samples

go 1.19

require sidbeam.io/sidbeam v0.0.0

replace sidbeam.io/sidbeam => ../../bindings/go
