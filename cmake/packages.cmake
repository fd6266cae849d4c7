# Every third-party package, found once; the interface target `packages` carries them all.
find_package(PkgConfig REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(HDF5 REQUIRED COMPONENTS C)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)

find_path(METIS_INCLUDE_DIR metis.h REQUIRED)
find_library(METIS_LIBRARY metis REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas ${CMAKE_LIBRARY_ARCHITECTURE} openblas-pthread REQUIRED)
find_library(OPENBLAS_LIBRARY openblas REQUIRED)

add_library(packages INTERFACE)
target_include_directories(packages SYSTEM INTERFACE
  ${HDF5_INCLUDE_DIRS} ${METIS_INCLUDE_DIR} ${TOMLPLUSPLUS_INCLUDE_DIR} ${CBLAS_INCLUDE_DIR})
target_link_libraries(packages INTERFACE
  MPI::MPI_C OpenMP::OpenMP_C Threads::Threads ZLIB::ZLIB PkgConfig::LIBZIP
  ${HDF5_C_LIBRARIES} ${METIS_LIBRARY} ${OPENBLAS_LIBRARY} m)
