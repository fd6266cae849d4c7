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

# Optional: a partition by PT-Scotch.
find_path(SCOTCH_INCLUDE_DIR ptscotch.h PATH_SUFFIXES scotch)
find_library(PTSCOTCH_LIBRARY ptscotch)
find_library(SCOTCH_LIBRARY scotch)

add_library(packages INTERFACE)
target_include_directories(packages SYSTEM INTERFACE
  ${HDF5_INCLUDE_DIRS} ${METIS_INCLUDE_DIR} ${TOMLPLUSPLUS_INCLUDE_DIR} ${CBLAS_INCLUDE_DIR})
target_link_libraries(packages INTERFACE
  MPI::MPI_C OpenMP::OpenMP_C Threads::Threads ZLIB::ZLIB PkgConfig::LIBZIP
  ${HDF5_C_LIBRARIES} ${METIS_LIBRARY} ${OPENBLAS_LIBRARY} m)
if(SCOTCH_INCLUDE_DIR AND PTSCOTCH_LIBRARY AND SCOTCH_LIBRARY)
  target_include_directories(packages SYSTEM INTERFACE ${SCOTCH_INCLUDE_DIR})
  target_link_libraries(packages INTERFACE ${PTSCOTCH_LIBRARY} ${SCOTCH_LIBRARY})
  target_compile_definitions(packages INTERFACE GNNTRAIN_HAVE_SCOTCH)
endif()

# What --version says about them. package_define(VARIABLE FILE NAME...): the values of #defines, joined by dots.
function(package_define variable file)
  set(values)
  foreach(name IN LISTS ARGN)
    set(line)
    if(EXISTS ${file})
      file(STRINGS ${file} line REGEX "#[ \t]*define[ \t]+${name}[ \t]" LIMIT_COUNT 1)
    endif()
    string(REGEX MATCH "[0-9][0-9.]*" value "${line}")
    list(APPEND values "${value}")
  endforeach()
  list(JOIN values "." joined)
  set(${variable} "${joined}" PARENT_SCOPE)
endfunction()

find_file(MPI_HEADER mpi.h PATHS ${MPI_C_INCLUDE_DIRS} NO_DEFAULT_PATH)
package_define(mpi_version ${MPI_HEADER} OMPI_MAJOR_VERSION OMPI_MINOR_VERSION OMPI_RELEASE_VERSION)
if(mpi_version MATCHES "^[0-9]")
  set(mpi_version "Open MPI ${mpi_version}")
else()
  set(mpi_version "MPI ${MPI_C_VERSION}")
endif()
package_define(metis_version ${METIS_INCLUDE_DIR}/metis.h METIS_VER_MAJOR METIS_VER_MINOR METIS_VER_SUBMINOR)
package_define(openblas_version ${CBLAS_INCLUDE_DIR}/openblas_config.h OPENBLAS_VERSION)
pkg_check_modules(TOMLPLUSPLUS QUIET tomlplusplus)
set(package_versions "${mpi_version}, HDF5 ${HDF5_VERSION}, METIS ${metis_version}, OpenBLAS ${openblas_version}, \
toml++ ${TOMLPLUSPLUS_VERSION}, zlib ${ZLIB_VERSION_STRING}, libzip ${LIBZIP_VERSION}")
if(PTSCOTCH_LIBRARY AND SCOTCH_INCLUDE_DIR)
  package_define(scotch_version ${SCOTCH_INCLUDE_DIR}/scotch.h SCOTCH_VERSION SCOTCH_RELEASE SCOTCH_PATCHLEVEL)
  string(APPEND package_versions ", PT-Scotch ${scotch_version}")
endif()
