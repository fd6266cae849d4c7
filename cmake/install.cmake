# cmake --install: the programs (see launch/CMakeLists.txt), the configurations and what to read.
include(GNUInstallDirs)
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/gnntrain/configs FILES_MATCHING PATTERN "*.toml")
install(FILES launch/openmpi-mca-params.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/gnntrain)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
