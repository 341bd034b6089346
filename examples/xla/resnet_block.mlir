module @jit_resnet_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>, %arg3: tensor<16x10xf32>, %arg4: tensor<8xf32>, %arg5: tensor<16xf32>, %arg6: tensor<16xf32>, %arg7: tensor<1x1x8x16xf32>, %arg8: tensor<7x7x3x8xf32>, %arg9: tensor<3x3x8x16xf32>, %arg10: tensor<3x3x16x16xf32>, %arg11: tensor<8xf32>, %arg12: tensor<8xf32>, %arg13: tensor<16xf32>, %arg14: tensor<16xf32>, %arg15: tensor<16xf32>, %arg16: tensor<16xf32>, %arg17: tensor<4x24x24x3xf32>, %arg18: tensor<4xi32>) -> (tensor<8xf32> {jax.result_info = "result[0]['gain0']"}, tensor<16xf32> {jax.result_info = "result[0]['gain1']"}, tensor<16xf32> {jax.result_info = "result[0]['gain2']"}, tensor<16x10xf32> {jax.result_info = "result[0]['out']"}, tensor<8xf32> {jax.result_info = "result[0]['shift0']"}, tensor<16xf32> {jax.result_info = "result[0]['shift1']"}, tensor<16xf32> {jax.result_info = "result[0]['shift2']"}, tensor<1x1x8x16xf32> {jax.result_info = "result[0]['shortcut']"}, tensor<7x7x3x8xf32> {jax.result_info = "result[0]['stem']"}, tensor<3x3x8x16xf32> {jax.result_info = "result[0]['w1']"}, tensor<3x3x16x16xf32> {jax.result_info = "result[0]['w2']"}, tensor<8xf32> {jax.result_info = "result[1][0][0]"}, tensor<8xf32> {jax.result_info = "result[1][0][1]"}, tensor<16xf32> {jax.result_info = "result[1][1][0]"}, tensor<16xf32> {jax.result_info = "result[1][1][1]"}, tensor<16xf32> {jax.result_info = "result[1][2][0]"}, tensor<16xf32> {jax.result_info = "result[1][2][1]"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.convolution(%arg17, %arg8) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[2, 3], [2, 3]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x24x24x3xf32>, tensor<7x7x3x8xf32>) -> tensor<4x12x12x8xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x12x12x8xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_0 = stablehlo.constant dense<5.760000e+02> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %3 = stablehlo.divide %1, %2 : tensor<8xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<4x12x12x8xf32>
    %6 = stablehlo.subtract %0, %5 : tensor<4x12x12x8xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<4x12x12x8xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x12x12x8xf32>
    %9 = stablehlo.multiply %8, %6 : tensor<4x12x12x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%7 init: %cst_2) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x12x12x8xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_3 = stablehlo.constant dense<5.760000e+02> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %12 = stablehlo.divide %10, %11 : tensor<8xf32>
    %cst_4 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %14 = stablehlo.multiply %13, %arg11 : tensor<8xf32>
    %cst_5 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %16 = stablehlo.multiply %15, %3 : tensor<8xf32>
    %17 = stablehlo.add %14, %16 : tensor<8xf32>
    %cst_6 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %19 = stablehlo.multiply %18, %arg12 : tensor<8xf32>
    %cst_7 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %21 = stablehlo.multiply %20, %12 : tensor<8xf32>
    %22 = stablehlo.add %19, %21 : tensor<8xf32>
    %23 = stablehlo.broadcast_in_dim %3, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<4x12x12x8xf32>
    %25 = stablehlo.subtract %0, %24 : tensor<4x12x12x8xf32>
    %cst_8 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %27 = stablehlo.add %12, %26 : tensor<8xf32>
    %28 = stablehlo.rsqrt %27 : tensor<8xf32>
    %29 = stablehlo.divide %28, %27 : tensor<8xf32>
    %cst_9 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %31 = stablehlo.multiply %30, %29 : tensor<8xf32>
    %32 = stablehlo.broadcast_in_dim %28, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<4x12x12x8xf32>
    %34 = stablehlo.multiply %25, %33 : tensor<4x12x12x8xf32>
    %35 = stablehlo.broadcast_in_dim %arg0, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<4x12x12x8xf32>
    %37 = stablehlo.multiply %34, %36 : tensor<4x12x12x8xf32>
    %38 = stablehlo.broadcast_in_dim %arg4, dims = [3] : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<4x12x12x8xf32>
    %40 = stablehlo.add %37, %39 : tensor<4x12x12x8xf32>
    %41 = call @relu(%40) : (tensor<4x12x12x8xf32>) -> tensor<4x12x12x8xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x12x12x8xf32>
    %43 = stablehlo.compare GT, %40, %42, FLOAT : (tensor<4x12x12x8xf32>, tensor<4x12x12x8xf32>) -> tensor<4x12x12x8xi1>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x12x12x8xf32>
    %cst_12 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<f32>
    %46 = "stablehlo.reduce_window"(%41, %45) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg19: tensor<f32>, %arg20: tensor<f32>):
      %315 = stablehlo.maximum %arg19, %arg20 : tensor<f32>
      stablehlo.return %315 : tensor<f32>
    }) : (tensor<4x12x12x8xf32>, tensor<f32>) -> tensor<4x6x6x8xf32>
    %47 = stablehlo.convolution(%46, %arg9) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x6x6x8xf32>, tensor<3x3x8x16xf32>) -> tensor<4x3x3x16xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %48 = stablehlo.reduce(%47 init: %cst_13) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_14 = stablehlo.constant dense<3.600000e+01> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %50 = stablehlo.divide %48, %49 : tensor<16xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %53 = stablehlo.subtract %47, %52 : tensor<4x3x3x16xf32>
    %54 = stablehlo.multiply %53, %53 : tensor<4x3x3x16xf32>
    %cst_15 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<4x3x3x16xf32>
    %56 = stablehlo.multiply %55, %53 : tensor<4x3x3x16xf32>
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %57 = stablehlo.reduce(%54 init: %cst_16) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_17 = stablehlo.constant dense<3.600000e+01> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %59 = stablehlo.divide %57, %58 : tensor<16xf32>
    %cst_18 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %60 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %61 = stablehlo.multiply %60, %arg13 : tensor<16xf32>
    %cst_19 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %62 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %63 = stablehlo.multiply %62, %50 : tensor<16xf32>
    %64 = stablehlo.add %61, %63 : tensor<16xf32>
    %cst_20 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %66 = stablehlo.multiply %65, %arg14 : tensor<16xf32>
    %cst_21 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %67 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %68 = stablehlo.multiply %67, %59 : tensor<16xf32>
    %69 = stablehlo.add %66, %68 : tensor<16xf32>
    %70 = stablehlo.broadcast_in_dim %50, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %72 = stablehlo.subtract %47, %71 : tensor<4x3x3x16xf32>
    %cst_22 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %74 = stablehlo.add %59, %73 : tensor<16xf32>
    %75 = stablehlo.rsqrt %74 : tensor<16xf32>
    %76 = stablehlo.divide %75, %74 : tensor<16xf32>
    %cst_23 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %77 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %78 = stablehlo.multiply %77, %76 : tensor<16xf32>
    %79 = stablehlo.broadcast_in_dim %75, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %81 = stablehlo.multiply %72, %80 : tensor<4x3x3x16xf32>
    %82 = stablehlo.broadcast_in_dim %arg1, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %83 = stablehlo.broadcast_in_dim %82, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %84 = stablehlo.multiply %81, %83 : tensor<4x3x3x16xf32>
    %85 = stablehlo.broadcast_in_dim %arg5, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %86 = stablehlo.broadcast_in_dim %85, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %87 = stablehlo.add %84, %86 : tensor<4x3x3x16xf32>
    %88 = call @relu_0(%87) : (tensor<4x3x3x16xf32>) -> tensor<4x3x3x16xf32>
    %cst_24 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %89 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<4x3x3x16xf32>
    %90 = stablehlo.compare GT, %87, %89, FLOAT : (tensor<4x3x3x16xf32>, tensor<4x3x3x16xf32>) -> tensor<4x3x3x16xi1>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %91 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<4x3x3x16xf32>
    %92 = stablehlo.convolution(%88, %arg10) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x3x3x16xf32>, tensor<3x3x16x16xf32>) -> tensor<4x3x3x16xf32>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %93 = stablehlo.reduce(%92 init: %cst_26) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_27 = stablehlo.constant dense<3.600000e+01> : tensor<f32>
    %94 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %95 = stablehlo.divide %93, %94 : tensor<16xf32>
    %96 = stablehlo.broadcast_in_dim %95, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %97 = stablehlo.broadcast_in_dim %96, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %98 = stablehlo.subtract %92, %97 : tensor<4x3x3x16xf32>
    %99 = stablehlo.multiply %98, %98 : tensor<4x3x3x16xf32>
    %cst_28 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %100 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<4x3x3x16xf32>
    %101 = stablehlo.multiply %100, %98 : tensor<4x3x3x16xf32>
    %cst_29 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %102 = stablehlo.reduce(%99 init: %cst_29) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_30 = stablehlo.constant dense<3.600000e+01> : tensor<f32>
    %103 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %104 = stablehlo.divide %102, %103 : tensor<16xf32>
    %cst_31 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %105 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %106 = stablehlo.multiply %105, %arg15 : tensor<16xf32>
    %cst_32 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %107 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %108 = stablehlo.multiply %107, %95 : tensor<16xf32>
    %109 = stablehlo.add %106, %108 : tensor<16xf32>
    %cst_33 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %110 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %111 = stablehlo.multiply %110, %arg16 : tensor<16xf32>
    %cst_34 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %112 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %113 = stablehlo.multiply %112, %104 : tensor<16xf32>
    %114 = stablehlo.add %111, %113 : tensor<16xf32>
    %115 = stablehlo.broadcast_in_dim %95, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %116 = stablehlo.broadcast_in_dim %115, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %117 = stablehlo.subtract %92, %116 : tensor<4x3x3x16xf32>
    %cst_35 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %118 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %119 = stablehlo.add %104, %118 : tensor<16xf32>
    %120 = stablehlo.rsqrt %119 : tensor<16xf32>
    %121 = stablehlo.divide %120, %119 : tensor<16xf32>
    %cst_36 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %122 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %123 = stablehlo.multiply %122, %121 : tensor<16xf32>
    %124 = stablehlo.broadcast_in_dim %120, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %125 = stablehlo.broadcast_in_dim %124, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %126 = stablehlo.multiply %117, %125 : tensor<4x3x3x16xf32>
    %127 = stablehlo.broadcast_in_dim %arg2, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %128 = stablehlo.broadcast_in_dim %127, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %129 = stablehlo.multiply %126, %128 : tensor<4x3x3x16xf32>
    %130 = stablehlo.broadcast_in_dim %arg6, dims = [3] : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %131 = stablehlo.broadcast_in_dim %130, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %132 = stablehlo.add %129, %131 : tensor<4x3x3x16xf32>
    %133 = stablehlo.convolution(%46, %arg7) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x6x6x8xf32>, tensor<1x1x8x16xf32>) -> tensor<4x3x3x16xf32>
    %134 = stablehlo.add %132, %133 : tensor<4x3x3x16xf32>
    %135 = call @relu_0(%134) : (tensor<4x3x3x16xf32>) -> tensor<4x3x3x16xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %136 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<4x3x3x16xf32>
    %137 = stablehlo.compare GT, %134, %136, FLOAT : (tensor<4x3x3x16xf32>, tensor<4x3x3x16xf32>) -> tensor<4x3x3x16xi1>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %138 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<4x3x3x16xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %139 = stablehlo.reduce(%135 init: %cst_39) applies stablehlo.add across dimensions = [1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<4x16xf32>
    %cst_40 = stablehlo.constant dense<9.000000e+00> : tensor<f32>
    %140 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %141 = stablehlo.divide %139, %140 : tensor<4x16xf32>
    %142 = stablehlo.dot_general %141, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x16xf32>, tensor<16x10xf32>) -> tensor<4x10xf32>
    %143:3 = call @log_softmax(%142) : (tensor<4x10xf32>) -> (tensor<4x10xf32>, tensor<4x10xf32>, tensor<4x1xf32>)
    %144 = stablehlo.broadcast_in_dim %arg18, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %145:2 = call @take_along_axis(%143#0, %144) : (tensor<4x10xf32>, tensor<4x1xi32>) -> (tensor<4x1xf32>, tensor<4x1x1xi32>)
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %146 = stablehlo.reduce(%145#0 init: %cst_41) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<f32>
    %cst_42 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %147 = stablehlo.divide %146, %cst_42 : tensor<f32>
    %148 = stablehlo.negate %147 : tensor<f32>
    %cst_43 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %149 = stablehlo.negate %cst_43 : tensor<f32>
    %cst_44 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %150 = stablehlo.divide %149, %cst_44 : tensor<f32>
    %151 = stablehlo.broadcast_in_dim %150, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %152 = call @take_along_axis_1(%145#1, %151) : (tensor<4x1x1xi32>, tensor<4x1xf32>) -> tensor<4x10xf32>
    %153 = call @log_softmax_2(%143#1, %143#2, %152) : (tensor<4x10xf32>, tensor<4x1xf32>, tensor<4x10xf32>) -> tensor<4x10xf32>
    %154 = stablehlo.dot_general %153, %141, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x10xf32>, tensor<4x16xf32>) -> tensor<10x16xf32>
    %155 = stablehlo.transpose %154, dims = [1, 0] : (tensor<10x16xf32>) -> tensor<16x10xf32>
    %156 = stablehlo.dot_general %153, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x10xf32>, tensor<16x10xf32>) -> tensor<4x16xf32>
    %cst_45 = stablehlo.constant dense<9.000000e+00> : tensor<f32>
    %157 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %158 = stablehlo.divide %156, %157 : tensor<4x16xf32>
    %159 = stablehlo.broadcast_in_dim %158, dims = [0, 3] : (tensor<4x16xf32>) -> tensor<4x3x3x16xf32>
    %cst_46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %160 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<4x3x3x16xf32>
    %161 = stablehlo.select %137, %159, %160 : tensor<4x3x3x16xi1>, tensor<4x3x3x16xf32>
    %162 = stablehlo.convolution(%46, %161) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, -1], [0, -1]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x6x6x8xf32>, tensor<4x3x3x16xf32>) -> tensor<1x1x8x16xf32>
    %163 = stablehlo.reverse %arg7, dims = [0, 1] : tensor<1x1x8x16xf32>
    %164 = stablehlo.convolution(%161, %163) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x3x3x16xf32>, tensor<1x1x8x16xf32>) -> tensor<4x6x6x8xf32>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %165 = stablehlo.reduce(%161 init: %cst_47) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %166 = stablehlo.reshape %165 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %167 = stablehlo.reduce(%166 init: %cst_48) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %168 = stablehlo.multiply %126, %161 : tensor<4x3x3x16xf32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %169 = stablehlo.reduce(%168 init: %cst_49) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %170 = stablehlo.reshape %169 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %171 = stablehlo.broadcast_in_dim %127, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %172 = stablehlo.multiply %161, %171 : tensor<4x3x3x16xf32>
    %cst_50 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %173 = stablehlo.reduce(%170 init: %cst_50) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %174 = stablehlo.multiply %117, %172 : tensor<4x3x3x16xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %175 = stablehlo.reduce(%174 init: %cst_51) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %176 = stablehlo.reshape %175 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %177 = stablehlo.broadcast_in_dim %124, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %178 = stablehlo.multiply %172, %177 : tensor<4x3x3x16xf32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %179 = stablehlo.reduce(%176 init: %cst_52) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %180 = stablehlo.multiply %179, %123 : tensor<16xf32>
    %181 = stablehlo.negate %178 : tensor<4x3x3x16xf32>
    %cst_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %182 = stablehlo.reduce(%181 init: %cst_53) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %183 = stablehlo.reshape %182 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %184 = stablehlo.reduce(%183 init: %cst_54) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_55 = stablehlo.constant dense<3.600000e+01> : tensor<f32>
    %185 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %186 = stablehlo.divide %180, %185 : tensor<16xf32>
    %187 = stablehlo.broadcast_in_dim %186, dims = [3] : (tensor<16xf32>) -> tensor<4x3x3x16xf32>
    %188 = stablehlo.multiply %187, %101 : tensor<4x3x3x16xf32>
    %189 = stablehlo.negate %188 : tensor<4x3x3x16xf32>
    %cst_56 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %190 = stablehlo.reduce(%189 init: %cst_56) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %191 = stablehlo.reshape %190 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %192 = stablehlo.add %178, %188 : tensor<4x3x3x16xf32>
    %cst_57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %193 = stablehlo.reduce(%191 init: %cst_57) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %194 = stablehlo.add %184, %193 : tensor<16xf32>
    %cst_58 = stablehlo.constant dense<3.600000e+01> : tensor<f32>
    %195 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %196 = stablehlo.divide %194, %195 : tensor<16xf32>
    %197 = stablehlo.broadcast_in_dim %196, dims = [3] : (tensor<16xf32>) -> tensor<4x3x3x16xf32>
    %198 = stablehlo.add %192, %197 : tensor<4x3x3x16xf32>
    %199 = stablehlo.convolution(%88, %198) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x3x3x16xf32>, tensor<4x3x3x16xf32>) -> tensor<3x3x16x16xf32>
    %200 = stablehlo.reverse %arg10, dims = [0, 1] : tensor<3x3x16x16xf32>
    %201 = stablehlo.convolution(%198, %200) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x3x3x16xf32>, tensor<3x3x16x16xf32>) -> tensor<4x3x3x16xf32>
    %cst_59 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %202 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<4x3x3x16xf32>
    %203 = stablehlo.select %90, %201, %202 : tensor<4x3x3x16xi1>, tensor<4x3x3x16xf32>
    %cst_60 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %204 = stablehlo.reduce(%203 init: %cst_60) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %205 = stablehlo.reshape %204 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %cst_61 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %206 = stablehlo.reduce(%205 init: %cst_61) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %207 = stablehlo.multiply %81, %203 : tensor<4x3x3x16xf32>
    %cst_62 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %208 = stablehlo.reduce(%207 init: %cst_62) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %209 = stablehlo.reshape %208 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %210 = stablehlo.broadcast_in_dim %82, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %211 = stablehlo.multiply %203, %210 : tensor<4x3x3x16xf32>
    %cst_63 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %212 = stablehlo.reduce(%209 init: %cst_63) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %213 = stablehlo.multiply %72, %211 : tensor<4x3x3x16xf32>
    %cst_64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %214 = stablehlo.reduce(%213 init: %cst_64) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %215 = stablehlo.reshape %214 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %216 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2, 3] : (tensor<1x1x1x16xf32>) -> tensor<4x3x3x16xf32>
    %217 = stablehlo.multiply %211, %216 : tensor<4x3x3x16xf32>
    %cst_65 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %218 = stablehlo.reduce(%215 init: %cst_65) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %219 = stablehlo.multiply %218, %78 : tensor<16xf32>
    %220 = stablehlo.negate %217 : tensor<4x3x3x16xf32>
    %cst_66 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %221 = stablehlo.reduce(%220 init: %cst_66) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %222 = stablehlo.reshape %221 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %cst_67 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %223 = stablehlo.reduce(%222 init: %cst_67) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_68 = stablehlo.constant dense<3.600000e+01> : tensor<f32>
    %224 = stablehlo.broadcast_in_dim %cst_68, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %225 = stablehlo.divide %219, %224 : tensor<16xf32>
    %226 = stablehlo.broadcast_in_dim %225, dims = [3] : (tensor<16xf32>) -> tensor<4x3x3x16xf32>
    %227 = stablehlo.multiply %226, %56 : tensor<4x3x3x16xf32>
    %228 = stablehlo.negate %227 : tensor<4x3x3x16xf32>
    %cst_69 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %229 = stablehlo.reduce(%228 init: %cst_69) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x3x3x16xf32>, tensor<f32>) -> tensor<16xf32>
    %230 = stablehlo.reshape %229 : (tensor<16xf32>) -> tensor<1x1x1x16xf32>
    %231 = stablehlo.add %217, %227 : tensor<4x3x3x16xf32>
    %cst_70 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %232 = stablehlo.reduce(%230 init: %cst_70) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %233 = stablehlo.add %223, %232 : tensor<16xf32>
    %cst_71 = stablehlo.constant dense<3.600000e+01> : tensor<f32>
    %234 = stablehlo.broadcast_in_dim %cst_71, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %235 = stablehlo.divide %233, %234 : tensor<16xf32>
    %236 = stablehlo.broadcast_in_dim %235, dims = [3] : (tensor<16xf32>) -> tensor<4x3x3x16xf32>
    %237 = stablehlo.add %231, %236 : tensor<4x3x3x16xf32>
    %238 = stablehlo.convolution(%46, %237) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x6x6x8xf32>, tensor<4x3x3x16xf32>) -> tensor<3x3x8x16xf32>
    %239 = stablehlo.reverse %arg9, dims = [0, 1] : tensor<3x3x8x16xf32>
    %240 = stablehlo.convolution(%237, %239) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x3x3x16xf32>, tensor<3x3x8x16xf32>) -> tensor<4x6x6x8xf32>
    %241 = stablehlo.add %164, %240 : tensor<4x6x6x8xf32>
    %cst_72 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %242 = stablehlo.pad %41, %cst_72, low = [0, 0, 0, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<4x12x12x8xf32>, tensor<f32>) -> tensor<4x13x13x8xf32>
    %cst_73 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %243 = "stablehlo.select_and_scatter"(%242, %241, %cst_73) <{padding = dense<0> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg19: tensor<f32>, %arg20: tensor<f32>):
      %315 = stablehlo.compare GE, %arg19, %arg20, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %315 : tensor<i1>
    }, {
    ^bb0(%arg19: tensor<f32>, %arg20: tensor<f32>):
      %315 = stablehlo.add %arg19, %arg20 : tensor<f32>
      stablehlo.return %315 : tensor<f32>
    }) : (tensor<4x13x13x8xf32>, tensor<4x6x6x8xf32>, tensor<f32>) -> tensor<4x13x13x8xf32>
    %244 = stablehlo.slice %243 [0:4, 0:12, 0:12, 0:8] : (tensor<4x13x13x8xf32>) -> tensor<4x12x12x8xf32>
    %cst_74 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %245 = stablehlo.broadcast_in_dim %cst_74, dims = [] : (tensor<f32>) -> tensor<4x12x12x8xf32>
    %246 = stablehlo.select %43, %244, %245 : tensor<4x12x12x8xi1>, tensor<4x12x12x8xf32>
    %cst_75 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %247 = stablehlo.reduce(%246 init: %cst_75) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x12x12x8xf32>, tensor<f32>) -> tensor<8xf32>
    %248 = stablehlo.reshape %247 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %cst_76 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %249 = stablehlo.reduce(%248 init: %cst_76) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %250 = stablehlo.multiply %34, %246 : tensor<4x12x12x8xf32>
    %cst_77 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %251 = stablehlo.reduce(%250 init: %cst_77) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x12x12x8xf32>, tensor<f32>) -> tensor<8xf32>
    %252 = stablehlo.reshape %251 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %253 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<4x12x12x8xf32>
    %254 = stablehlo.multiply %246, %253 : tensor<4x12x12x8xf32>
    %cst_78 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %255 = stablehlo.reduce(%252 init: %cst_78) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %256 = stablehlo.multiply %25, %254 : tensor<4x12x12x8xf32>
    %cst_79 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %257 = stablehlo.reduce(%256 init: %cst_79) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x12x12x8xf32>, tensor<f32>) -> tensor<8xf32>
    %258 = stablehlo.reshape %257 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %259 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2, 3] : (tensor<1x1x1x8xf32>) -> tensor<4x12x12x8xf32>
    %260 = stablehlo.multiply %254, %259 : tensor<4x12x12x8xf32>
    %cst_80 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %261 = stablehlo.reduce(%258 init: %cst_80) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %262 = stablehlo.multiply %261, %31 : tensor<8xf32>
    %263 = stablehlo.negate %260 : tensor<4x12x12x8xf32>
    %cst_81 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %264 = stablehlo.reduce(%263 init: %cst_81) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x12x12x8xf32>, tensor<f32>) -> tensor<8xf32>
    %265 = stablehlo.reshape %264 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %cst_82 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %266 = stablehlo.reduce(%265 init: %cst_82) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_83 = stablehlo.constant dense<5.760000e+02> : tensor<f32>
    %267 = stablehlo.broadcast_in_dim %cst_83, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %268 = stablehlo.divide %262, %267 : tensor<8xf32>
    %269 = stablehlo.broadcast_in_dim %268, dims = [3] : (tensor<8xf32>) -> tensor<4x12x12x8xf32>
    %270 = stablehlo.multiply %269, %9 : tensor<4x12x12x8xf32>
    %271 = stablehlo.negate %270 : tensor<4x12x12x8xf32>
    %cst_84 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %272 = stablehlo.reduce(%271 init: %cst_84) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x12x12x8xf32>, tensor<f32>) -> tensor<8xf32>
    %273 = stablehlo.reshape %272 : (tensor<8xf32>) -> tensor<1x1x1x8xf32>
    %274 = stablehlo.add %260, %270 : tensor<4x12x12x8xf32>
    %cst_85 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %275 = stablehlo.reduce(%273 init: %cst_85) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<1x1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %276 = stablehlo.add %266, %275 : tensor<8xf32>
    %cst_86 = stablehlo.constant dense<5.760000e+02> : tensor<f32>
    %277 = stablehlo.broadcast_in_dim %cst_86, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %278 = stablehlo.divide %276, %277 : tensor<8xf32>
    %279 = stablehlo.broadcast_in_dim %278, dims = [3] : (tensor<8xf32>) -> tensor<4x12x12x8xf32>
    %280 = stablehlo.add %274, %279 : tensor<4x12x12x8xf32>
    %281 = stablehlo.convolution(%arg17, %280) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[2, 3], [2, 3]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x24x24x3xf32>, tensor<4x12x12x8xf32>) -> tensor<7x7x3x8xf32>
    %cst_87 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %282 = stablehlo.broadcast_in_dim %cst_87, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %283 = stablehlo.multiply %282, %255 : tensor<8xf32>
    %284 = stablehlo.subtract %arg0, %283 : tensor<8xf32>
    %cst_88 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %285 = stablehlo.broadcast_in_dim %cst_88, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %286 = stablehlo.multiply %285, %212 : tensor<16xf32>
    %287 = stablehlo.subtract %arg1, %286 : tensor<16xf32>
    %cst_89 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %288 = stablehlo.broadcast_in_dim %cst_89, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %289 = stablehlo.multiply %288, %173 : tensor<16xf32>
    %290 = stablehlo.subtract %arg2, %289 : tensor<16xf32>
    %cst_90 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %291 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<16x10xf32>
    %292 = stablehlo.multiply %291, %155 : tensor<16x10xf32>
    %293 = stablehlo.subtract %arg3, %292 : tensor<16x10xf32>
    %cst_91 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %294 = stablehlo.broadcast_in_dim %cst_91, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %295 = stablehlo.multiply %294, %249 : tensor<8xf32>
    %296 = stablehlo.subtract %arg4, %295 : tensor<8xf32>
    %cst_92 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %297 = stablehlo.broadcast_in_dim %cst_92, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %298 = stablehlo.multiply %297, %206 : tensor<16xf32>
    %299 = stablehlo.subtract %arg5, %298 : tensor<16xf32>
    %cst_93 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %300 = stablehlo.broadcast_in_dim %cst_93, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %301 = stablehlo.multiply %300, %167 : tensor<16xf32>
    %302 = stablehlo.subtract %arg6, %301 : tensor<16xf32>
    %cst_94 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %303 = stablehlo.broadcast_in_dim %cst_94, dims = [] : (tensor<f32>) -> tensor<1x1x8x16xf32>
    %304 = stablehlo.multiply %303, %162 : tensor<1x1x8x16xf32>
    %305 = stablehlo.subtract %arg7, %304 : tensor<1x1x8x16xf32>
    %cst_95 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %306 = stablehlo.broadcast_in_dim %cst_95, dims = [] : (tensor<f32>) -> tensor<7x7x3x8xf32>
    %307 = stablehlo.multiply %306, %281 : tensor<7x7x3x8xf32>
    %308 = stablehlo.subtract %arg8, %307 : tensor<7x7x3x8xf32>
    %cst_96 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %309 = stablehlo.broadcast_in_dim %cst_96, dims = [] : (tensor<f32>) -> tensor<3x3x8x16xf32>
    %310 = stablehlo.multiply %309, %238 : tensor<3x3x8x16xf32>
    %311 = stablehlo.subtract %arg9, %310 : tensor<3x3x8x16xf32>
    %cst_97 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %312 = stablehlo.broadcast_in_dim %cst_97, dims = [] : (tensor<f32>) -> tensor<3x3x16x16xf32>
    %313 = stablehlo.multiply %312, %199 : tensor<3x3x16x16xf32>
    %314 = stablehlo.subtract %arg10, %313 : tensor<3x3x16x16xf32>
    return %284, %287, %290, %293, %296, %299, %302, %305, %308, %311, %314, %17, %22, %64, %69, %109, %114, %148 : tensor<8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x10xf32>, tensor<8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<1x1x8x16xf32>, tensor<7x7x3x8xf32>, tensor<3x3x8x16xf32>, tensor<3x3x16x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<4x12x12x8xf32>) -> tensor<4x12x12x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x12x12x8xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x12x12x8xf32>
    return %1 : tensor<4x12x12x8xf32>
  }
  func.func private @relu_0(%arg0: tensor<4x3x3x16xf32>) -> tensor<4x3x3x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x3x3x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x3x3x16xf32>
    return %1 : tensor<4x3x3x16xf32>
  }
  func.func private @log_softmax(%arg0: tensor<4x10xf32>) -> (tensor<4x10xf32>, tensor<4x10xf32>, tensor<4x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4x10xf32>, tensor<f32>) -> tensor<4xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<4xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x10xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<4x10xf32>
    %6 = stablehlo.exponential %5 : tensor<4x10xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<4x10xf32>, tensor<f32>) -> tensor<4xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<4xf32>) -> tensor<4x1xf32>
    %9 = stablehlo.log %8 : tensor<4x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x10xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<4x10xf32>
    return %11, %6, %8 : tensor<4x10xf32>, tensor<4x10xf32>, tensor<4x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<4x10xf32>, %arg1: tensor<4x1xi32>) -> (tensor<4x1xf32>, tensor<4x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
    %c_0 = stablehlo.constant dense<10> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<4x1xi1>, tensor<4x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<4x1xi32>) -> tensor<4x1x1xi32>
    %c_1 = stablehlo.constant dense<9> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x1x1xi32>, tensor<4x1x1xi32>) -> tensor<4x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<4x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<4x1x1xi32>, tensor<4x1x1xi32>) -> tensor<4x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<4x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<4x1x1xi1>, tensor<i1>) -> tensor<4x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<4x10xf32>, tensor<4x1x1xi32>) -> tensor<4x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<4x1xi1>, tensor<4x1xf32>
    return %15, %5 : tensor<4x1xf32>, tensor<4x1x1xi32>
  }
  func.func private @take_along_axis_1(%arg0: tensor<4x1x1xi32>, %arg1: tensor<4x1xf32>) -> tensor<4x10xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x10xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x10xf32>, tensor<4x1x1xi32>, tensor<4x1xf32>) -> tensor<4x10xf32>
    return %1 : tensor<4x10xf32>
  }
  func.func private @log_softmax_2(%arg0: tensor<4x10xf32>, %arg1: tensor<4x1xf32>, %arg2: tensor<4x10xf32>) -> tensor<4x10xf32> {
    %0 = stablehlo.negate %arg2 : tensor<4x10xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x10xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.reshape %1 : (tensor<4xf32>) -> tensor<4x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<4x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x10xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<4x10xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<4x10xf32>
    return %7 : tensor<4x10xf32>
  }
}
