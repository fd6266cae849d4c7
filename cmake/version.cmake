# generated/version.h, rewritten at every build so that --version names the revision that was compiled.
file(WRITE ${PROJECT_BINARY_DIR}/write_version.cmake [[
cmake_minimum_required(VERSION 3.25)
find_package(Git QUIET)
set(revision "unknown")
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=10
    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(revision "${described}")
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [=[
#define GNNTRAIN_VERSION "@VERSION@"
#define GNNTRAIN_REVISION "@revision@"
#define GNNTRAIN_COMPILER "@COMPILER@"
#define GNNTRAIN_PACKAGES "@PACKAGES@"
]=] @ONLY)
]])
set(version_compiler "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}")
if(GNNTRAIN_SANITIZE)
  string(APPEND version_compiler ", sanitizers")
endif()
if(GNNTRAIN_NATIVE)
  string(APPEND version_compiler ", for the processor it was built on")
endif()
add_custom_target(version_header ALL
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
          "-DCOMPILER=${version_compiler}" "-DPACKAGES=${package_versions}"
          -DOUTPUT=${PROJECT_BINARY_DIR}/generated/version.h -P ${PROJECT_BINARY_DIR}/write_version.cmake
  BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/version.h
  VERBATIM)
