module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x8x512x128xbf16>, %arg1: tensor<1x8x512x128xbf16>, %arg2: tensor<1x8x512x128xbf16>, %arg3: tensor<1x8x512x128xbf16>) -> (tensor<1x8x512x128xbf16> {jax.result_info = "result[0]"}, tensor<1x8x512x128xbf16> {jax.result_info = "result[1][1][0]"}, tensor<1x8x512x128xbf16> {jax.result_info = "result[1][1][1]"}, tensor<1x8x512x128xbf16> {jax.result_info = "result[1][1][2]"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x8x512x128xbf16>, tensor<1x8x512x128xbf16>) -> tensor<1x8x512x512xbf16>
    %cst = stablehlo.constant dense<1.131250e+01> : tensor<bf16>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<1x8x512x512xbf16>
    %2 = stablehlo.divide %0, %1 : tensor<1x8x512x512xbf16>
    %cst_0 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %3 = stablehlo.reduce(%2 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<1x8x512x512xbf16>, tensor<bf16>) -> tensor<1x8x512xbf16>
    %cst_1 = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %4 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<bf16>) -> tensor<1x8x512xbf16>
    %5 = stablehlo.maximum %4, %3 : tensor<1x8x512xbf16>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<1x8x512xbf16>) -> tensor<1x8x512x1xbf16>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2, 3] : (tensor<1x8x512x1xbf16>) -> tensor<1x8x512x512xbf16>
    %8 = stablehlo.subtract %2, %7 : tensor<1x8x512x512xbf16>
    %9 = stablehlo.exponential %8 : tensor<1x8x512x512xbf16>
    %10 = stablehlo.convert %9 : (tensor<1x8x512x512xbf16>) -> tensor<1x8x512x512xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_2) applies stablehlo.add across dimensions = [3] : (tensor<1x8x512x512xf32>, tensor<f32>) -> tensor<1x8x512xf32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<1x8x512xf32>) -> tensor<1x8x512x1xf32>
    %13 = stablehlo.convert %12 : (tensor<1x8x512x1xf32>) -> tensor<1x8x512x1xbf16>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x8x512x1xbf16>) -> tensor<1x8x512x512xbf16>
    %15 = stablehlo.divide %9, %14 : tensor<1x8x512x512xbf16>
    %16 = stablehlo.multiply %13, %13 : tensor<1x8x512x1xbf16>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %17 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<bf16>) -> tensor<1x8x512x1xbf16>
    %18 = stablehlo.divide %17, %16 : tensor<1x8x512x1xbf16>
    %19 = stablehlo.dot_general %15, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x8x512x512xbf16>, tensor<1x8x512x128xbf16>) -> tensor<1x8x512x128xbf16>
    %20 = stablehlo.dot_general %arg3, %15, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x8x512x128xbf16>, tensor<1x8x512x512xbf16>) -> tensor<1x8x128x512xbf16>
    %21 = stablehlo.transpose %20, dims = [0, 1, 3, 2] : (tensor<1x8x128x512xbf16>) -> tensor<1x8x512x128xbf16>
    %22 = stablehlo.dot_general %arg3, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x8x512x128xbf16>, tensor<1x8x512x128xbf16>) -> tensor<1x8x512x512xbf16>
    %23 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<1x8x512x1xbf16>) -> tensor<1x8x512x512xbf16>
    %24 = stablehlo.multiply %22, %23 : tensor<1x8x512x512xbf16>
    %25 = stablehlo.multiply %24, %9 : tensor<1x8x512x512xbf16>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %26 = stablehlo.reduce(%25 init: %cst_4) applies stablehlo.add across dimensions = [3] : (tensor<1x8x512x512xbf16>, tensor<bf16>) -> tensor<1x8x512xbf16>
    %27 = stablehlo.reshape %26 : (tensor<1x8x512xbf16>) -> tensor<1x8x512x1xbf16>
    %28 = stablehlo.negate %27 : tensor<1x8x512x1xbf16>
    %29 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<1x8x512x1xbf16>) -> tensor<1x8x512x512xbf16>
    %30 = stablehlo.divide %22, %29 : tensor<1x8x512x512xbf16>
    %31 = stablehlo.convert %28 : (tensor<1x8x512x1xbf16>) -> tensor<1x8x512x1xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %32 = stablehlo.reduce(%31 init: %cst_5) applies stablehlo.add across dimensions = [0, 3] : (tensor<1x8x512x1xf32>, tensor<f32>) -> tensor<8x512xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [1, 2] : (tensor<8x512xf32>) -> tensor<1x8x512xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2] : (tensor<1x8x512xf32>) -> tensor<1x8x512x512xf32>
    %35 = stablehlo.convert %34 : (tensor<1x8x512x512xf32>) -> tensor<1x8x512x512xbf16>
    %36 = stablehlo.add %30, %35 : tensor<1x8x512x512xbf16>
    %37 = stablehlo.multiply %36, %9 : tensor<1x8x512x512xbf16>
    %cst_6 = stablehlo.constant dense<1.131250e+01> : tensor<bf16>
    %38 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<bf16>) -> tensor<1x8x512x512xbf16>
    %39 = stablehlo.divide %37, %38 : tensor<1x8x512x512xbf16>
    %40 = stablehlo.dot_general %39, %arg0, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x8x512x512xbf16>, tensor<1x8x512x128xbf16>) -> tensor<1x8x512x128xbf16>
    %41 = stablehlo.dot_general %39, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x8x512x512xbf16>, tensor<1x8x512x128xbf16>) -> tensor<1x8x512x128xbf16>
    return %19, %41, %40, %21 : tensor<1x8x512x128xbf16>, tensor<1x8x512x128xbf16>, tensor<1x8x512x128xbf16>, tensor<1x8x512x128xbf16>
  }
}
