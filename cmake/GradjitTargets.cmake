# How every target of this project is compiled.

# Flags for code of our own. A function and not an interface library, which the installed package would
# have to export.
function(gradjit_configure_target target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    C_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
  target_compile_options(${target} PRIVATE
    # GCC fuses a*b + c by default, where the target has fma: that changes results, and the portable
    # code specifies them to the bit.
    -ffp-contract=off
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    # Designated initialisers leave members out on purpose.
    -Wno-missing-field-initializers
    $<$<BOOL:${GRADJIT_WERROR}>:-Werror>)
  if(GRADJIT_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${GRADJIT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${GRADJIT_SANITIZE})
  endif()
endfunction()

# An object library that becomes part of gradjit, and of what the tests and the tool link to see the
# internals. A part without sources is left out.
function(gradjit_add_part name)
  if(NOT ARGN)
    message(STATUS "${name}: no sources yet")
    return()
  endif()
  add_library(${name} OBJECT ${ARGN})
  gradjit_configure_target(${name})
  set_property(GLOBAL APPEND PROPERTY GRADJIT_PARTS ${name})
endfunction()

# An executable that may use the internals.
function(gradjit_add_executable name)
  add_executable(${name} ${ARGN})
  gradjit_configure_target(${name})
  target_link_libraries(${name} PRIVATE gradjit_internal)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endfunction()
