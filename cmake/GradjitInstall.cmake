# Installs the library, its headers and the package that find_package(gradjit) finds.
include(CMakePackageConfigHelpers)

if(NOT TARGET gradjit)
  return()
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/gradjit")

install(TARGETS gradjit EXPORT gradjitTargets FILE_SET HEADERS)
install(EXPORT gradjitTargets NAMESPACE gradjit:: DESTINATION "${package_dir}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/gradjitConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/gradjitConfig.cmake" INSTALL_DESTINATION "${package_dir}")
# Before 1.0 a minor release may break what programs rely on.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/gradjitConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/gradjitConfig.cmake" "${PROJECT_BINARY_DIR}/gradjitConfigVersion.cmake"
  DESTINATION "${package_dir}")

if(TARGET gradjit_tool)
  install(TARGETS gradjit_tool RUNTIME)
endif()
