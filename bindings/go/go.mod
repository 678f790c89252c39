module sidbeam.io/sidbeam

go 1.19
