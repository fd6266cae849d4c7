# cmake --install: the programs (see launch/CMakeLists.txt), scripts, the Python package, configurations and what to read. All find
# each other from where they lie, so that an installation can be moved.
include(GNUInstallDirs)
set(share ${CMAKE_INSTALL_DATADIR}/gnntrain)
install(DIRECTORY configs/ DESTINATION ${share}/configs FILES_MATCHING PATTERN "*.toml" PATTERN papers EXCLUDE)
install(FILES launch/openmpi-mca-params.conf DESTINATION ${share})
install(PROGRAMS launch/report launch/sweep launch/compare DESTINATION ${share}/launch)
install(DIRECTORY launch/study DESTINATION ${share}/launch FILES_MATCHING PATTERN "*.py" PATTERN "*.css")
install(DIRECTORY launch/slurm DESTINATION ${share}/launch FILES_MATCHING PATTERN "*.sbatch")
install(DIRECTORY python/gnntrain DESTINATION ${share}/python FILES_MATCHING PATTERN "*.py")
install(FILES launch/modulefile RENAME ${PROJECT_VERSION} DESTINATION ${share}/modulefiles/gnntrain)
foreach(script IN ITEMS report sweep compare)
  install(CODE "file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
    file(CREATE_LINK ../${share}/launch/${script}
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/gnntrain-${script}\" SYMBOLIC)")
endforeach()
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN "*.ipynb" PATTERN "*.toml")
