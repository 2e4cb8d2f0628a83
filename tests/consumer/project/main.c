/* Both operations, called from C11 with nothing but the public header. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gradjit/gradjit.h>

static int failures = 0;

static void expect_near(const char* what, float actual, float expected) {
  if (fabsf(actual - expected) <= 1e-6f) return;
  printf("%s is %g, not %g\n", what, (double)actual, (double)expected);
  ++failures;
}

/* What a program does with an error: here it ends. */
static void check(gradjit_status status) {
  if (status == GRADJIT_SUCCESS) return;
  printf("%s: %s\n", gradjit_status_name(status), gradjit_last_error());
  exit(1);
}

int main(void) {
  gradjit_factory* factory = NULL;
  check(gradjit_factory_create(NULL, &factory));

  const int64_t dims[] = {1, 4};
  gradjit_tensor_desc* desc = NULL;
  check(gradjit_tensor_desc_create(GRADJIT_F32, 2, dims, NULL, &desc));

  const float src[4] = {1.0f, -1.0f, 0.0f, 100.0f};
  const float diff_dst[4] = {0.5f, 2.0f, -3.0f, 4.0f};
  float diff_src[4] = {0};
  gradjit_kernel* elu = NULL;
  check(gradjit_elu_backward_create(factory, 1.0f, 0, 0, desc, &elu));
  const gradjit_elu_backward_args elu_args = {.src = src, .diff_dst = diff_dst, .diff_src = diff_src};
  check(gradjit_elu_backward_run(elu, &elu_args, NULL));
  expect_near("elu[0]", diff_src[0], 0.5f);
  expect_near("elu[1]", diff_src[1], 2.0f * expf(-1.0f));
  expect_near("elu[2]", diff_src[2], -3.0f);
  expect_near("elu[3]", diff_src[3], 4.0f);

  const float quarter = logf(0.25f);
  const float dst[4] = {quarter, quarter, quarter, quarter};
  gradjit_kernel* log_softmax = NULL;
  check(gradjit_log_softmax_backward_create(factory, -1, 0, desc, &log_softmax));
  const gradjit_log_softmax_backward_args args = {.diff_dst = diff_dst, .dst = dst, .diff_src = diff_src};
  check(gradjit_log_softmax_backward_run(log_softmax, &args, gradjit_serial_executor()));
  for (int i = 0; i < 4; ++i) expect_near("log_softmax", diff_src[i], diff_dst[i] - 0.25f * 3.5f);

  const char* name = NULL;
  check(gradjit_kernel_name(elu, &name));
  printf("gradjit %s, %s: %d failures\n", gradjit_version(), name, failures);
  gradjit_kernel_destroy(log_softmax);
  gradjit_kernel_destroy(elu);
  gradjit_tensor_desc_destroy(desc);
  gradjit_factory_destroy(factory);
  return failures == 0 ? 0 : 1;
}
