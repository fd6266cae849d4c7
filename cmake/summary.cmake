# What a configured build will hold, in one look.
message(STATUS "gnntrain ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}")
message(STATUS "  packages:    ${package_versions}")
message(STATUS "  compiler:    ${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}, for this processor: ${GNNTRAIN_NATIVE}")
message(STATUS "  sanitizers:  ${GNNTRAIN_SANITIZE}; warnings as errors: ${GNNTRAIN_WERROR}; tests: ${GNNTRAIN_TESTS}")
message(STATUS "  CPU device:  yes (OpenMP, OpenBLAS, MPI)")
message(STATUS "  CUDA device: not part of this version")
