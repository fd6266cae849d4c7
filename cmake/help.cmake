# What is made from the programs' --help: completion for bash and zsh; and pages of man, where help2man is installed.
include(GNUInstallDirs)
find_program(HELP2MAN help2man)

# from_help(NAME ARGUMENT...): launch/NAME writes the folder NAME of the build.
function(from_help name)
  set(done ${PROJECT_BINARY_DIR}/${name}.done)
  add_custom_command(OUTPUT ${done}
    COMMAND ${PROJECT_SOURCE_DIR}/launch/${name} ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/${name} ${ARGN}
    COMMAND ${CMAKE_COMMAND} -E touch ${done}
    DEPENDS gnntrain gnndata gnnbench ${PROJECT_SOURCE_DIR}/launch/${name}
    VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${done})
endfunction()

if(NOT CMAKE_CROSSCOMPILING)
  from_help(completion)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/completion/bash/ OPTIONAL
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/completion/zsh/ OPTIONAL DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
if(HELP2MAN AND NOT CMAKE_CROSSCOMPILING)
  from_help(manual ${HELP2MAN})
  install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/man1/ OPTIONAL DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
