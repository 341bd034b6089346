# `cpack -G DEB` in the build folder makes two Debian packages: heddle (the program) and heddle-dev (the libraries). What
# they depend on is found by dpkg-shlibdeps. Configure with --preset package, so that the program runs on every amd64.
set(CPACK_PACKAGE_NAME heddle)
set(CPACK_PACKAGE_VENDOR Heddle)
set(CPACK_PACKAGE_CONTACT "The Heddle developers <heddle@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "cycle-level simulator of machine-learning accelerators")
set(CPACK_PACKAGE_DESCRIPTION
"SystemC models of GPUs and TPUs, described by YAML files, execute a training
step instruction by instruction, say in which cycle each thing happens and what
it is waiting for, and compute the same bits that the real chip computes.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME heddle)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/PackageTools.cmake)
# Charts with values under the mouse; explorations on several machines.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS libjs-chart.js)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "openmpi-bin, python3")

set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"Static libraries and headers of Heddle's rooms for find_package(heddle).")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME heddle-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# What `./heddle` needs to be built is what its libraries need to be used.
file(STRINGS ${CMAKE_SOURCE_DIR}/scripts/packages.txt packages REGEX "^build lib|^build zlib|^build nlohmann|^build pkg-config")
list(TRANSFORM packages REPLACE "^build " "")
if(HEDDLE_MPI)
    list(APPEND packages libboost-mpi-dev)
endif()
list(REMOVE_ITEM packages libcli11-dev)
list(JOIN packages ", " packages)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "heddle (= ${PROJECT_VERSION}), ${packages}")
include(CPack)
