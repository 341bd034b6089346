module @jit_moe_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x48x32xf32>, %arg1: tensor<32x4xf32>, %arg2: tensor<4x32x48xf32>, %arg3: tensor<24x32xf32>, %arg4: tensor<24x32xf32>) -> (tensor<4x48x32xf32> {jax.result_info = "result[0]['down']"}, tensor<32x4xf32> {jax.result_info = "result[0]['router']"}, tensor<4x32x48xf32> {jax.result_info = "result[0]['up']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg3, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x32xf32>, tensor<32x4xf32>) -> tensor<24x4xf32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<24x4xf32>, tensor<f32>) -> tensor<24xf32>
    %2 = stablehlo.reshape %1 : (tensor<24xf32>) -> tensor<24x1xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %4 = stablehlo.compare EQ, %0, %3, FLOAT : (tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xi1>
    %5 = stablehlo.convert %4 : (tensor<24x4xi1>) -> tensor<24x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.reduce(%5 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<24x4xf32>, tensor<f32>) -> tensor<24xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %8 = stablehlo.maximum %7, %1 : tensor<24xf32>
    %9 = stablehlo.compare EQ, %1, %8, FLOAT : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xi1>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %12 = stablehlo.select %9, %10, %11 : tensor<24xi1>, tensor<24xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %14 = stablehlo.compare EQ, %13, %8, FLOAT : (tensor<24xf32>, tensor<24xf32>) -> tensor<24xi1>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<24xf32>
    %17 = stablehlo.select %14, %15, %16 : tensor<24xi1>, tensor<24xf32>
    %18 = stablehlo.divide %12, %17 : tensor<24xf32>
    %19 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %21 = stablehlo.subtract %0, %20 : tensor<24x4xf32>
    %22 = stablehlo.exponential %21 : tensor<24x4xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%22 init: %cst_7) applies stablehlo.add across dimensions = [1] : (tensor<24x4xf32>, tensor<f32>) -> tensor<24xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %26 = stablehlo.divide %22, %25 : tensor<24x4xf32>
    %27 = stablehlo.multiply %24, %24 : tensor<24x1xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %29 = stablehlo.divide %28, %27 : tensor<24x1xf32>
    %c = stablehlo.constant dense<false> : tensor<i1>
    %30 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<24x4xi1>
    %cst_9 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %31:2 = call @_where(%30, %cst_9, %26) : (tensor<24x4xi1>, tensor<f32>, tensor<24x4xf32>) -> (tensor<24x4xf32>, tensor<24x4xf32>)
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %32 = stablehlo.reduce(%31#0 init: %cst_10) applies stablehlo.maximum across dimensions = [1] : (tensor<24x4xf32>, tensor<f32>) -> tensor<24xf32>
    %33 = stablehlo.reshape %32 : (tensor<24xf32>) -> tensor<24x1xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %35 = stablehlo.compare EQ, %31#0, %34, FLOAT : (tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xi1>
    %36 = stablehlo.convert %35 : (tensor<24x4xi1>) -> tensor<24x4xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.reduce(%36 init: %cst_11) applies stablehlo.add across dimensions = [1] : (tensor<24x4xf32>, tensor<f32>) -> tensor<24xf32>
    %38 = stablehlo.broadcast_in_dim %32, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %40 = stablehlo.compare EQ, %31#0, %39, FLOAT : (tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xi1>
    %41 = stablehlo.or %30, %40 : tensor<24x4xi1>
    %cst_12 = stablehlo.constant dense<-1.000000e+00> : tensor<f32>
    %42:2 = call @_where(%41, %cst_12, %26) : (tensor<24x4xi1>, tensor<f32>, tensor<24x4xf32>) -> (tensor<24x4xf32>, tensor<24x4xf32>)
    %cst_13 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %43 = stablehlo.reduce(%42#0 init: %cst_13) applies stablehlo.maximum across dimensions = [1] : (tensor<24x4xf32>, tensor<f32>) -> tensor<24xf32>
    %44 = stablehlo.reshape %43 : (tensor<24xf32>) -> tensor<24x1xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %46 = stablehlo.compare EQ, %42#0, %45, FLOAT : (tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xi1>
    %47 = stablehlo.convert %46 : (tensor<24x4xi1>) -> tensor<24x4xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %48 = stablehlo.reduce(%47 init: %cst_14) applies stablehlo.add across dimensions = [1] : (tensor<24x4xf32>, tensor<f32>) -> tensor<24xf32>
    %49 = stablehlo.broadcast_in_dim %43, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %51 = stablehlo.compare EQ, %42#0, %50, FLOAT : (tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xi1>
    %52 = stablehlo.or %41, %51 : tensor<24x4xi1>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %53:2 = call @_where_0(%52, %26, %cst_15) : (tensor<24x4xi1>, tensor<24x4xf32>, tensor<f32>) -> (tensor<24x4xf32>, tensor<24x4xf32>)
    %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %54 = stablehlo.reduce(%53#0 init: %cst_16) applies stablehlo.add across dimensions = [1] : (tensor<24x4xf32>, tensor<f32>) -> tensor<24xf32>
    %55 = stablehlo.broadcast_in_dim %54, dims = [0] : (tensor<24xf32>) -> tensor<24x1xf32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %57 = stablehlo.divide %53#0, %56 : tensor<24x4xf32>
    %58 = stablehlo.multiply %55, %55 : tensor<24x1xf32>
    %cst_17 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %59 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<24x1xf32>
    %60 = stablehlo.divide %59, %58 : tensor<24x1xf32>
    %61 = stablehlo.dot_general %arg3, %arg2, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<24x32xf32>, tensor<4x32x48xf32>) -> tensor<24x4x48xf32>
    %62 = stablehlo.multiply %61, %61 : tensor<24x4x48xf32>
    %63 = stablehlo.multiply %62, %61 : tensor<24x4x48xf32>
    %64 = stablehlo.multiply %61, %61 : tensor<24x4x48xf32>
    %cst_18 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %65 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<24x4x48xf32>
    %66 = stablehlo.multiply %65, %64 : tensor<24x4x48xf32>
    %cst_19 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %67 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<24x4x48xf32>
    %68 = stablehlo.multiply %67, %63 : tensor<24x4x48xf32>
    %69 = stablehlo.add %61, %68 : tensor<24x4x48xf32>
    %cst_20 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %70 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<24x4x48xf32>
    %71 = stablehlo.multiply %70, %69 : tensor<24x4x48xf32>
    %72 = stablehlo.tanh %71 : tensor<24x4x48xf32>
    %cst_21 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %73 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<24x4x48xf32>
    %74 = stablehlo.subtract %73, %72 : tensor<24x4x48xf32>
    %cst_22 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %75 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<24x4x48xf32>
    %76 = stablehlo.add %75, %72 : tensor<24x4x48xf32>
    %cst_23 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %77 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<24x4x48xf32>
    %78 = stablehlo.multiply %77, %76 : tensor<24x4x48xf32>
    %79 = stablehlo.multiply %61, %78 : tensor<24x4x48xf32>
    %80 = stablehlo.dot_general %79, %57, batching_dims = [0, 1] x [0, 1], contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<24x4x48xf32>, tensor<24x4xf32>) -> tensor<24x4x48xf32>
    %81 = stablehlo.dot_general %80, %arg0, contracting_dims = [1, 2] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<24x4x48xf32>, tensor<4x48x32xf32>) -> tensor<24x32xf32>
    %82 = stablehlo.subtract %81, %arg4 : tensor<24x32xf32>
    %83 = stablehlo.multiply %82, %82 : tensor<24x32xf32>
    %cst_24 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<24x32xf32>
    %85 = stablehlo.multiply %84, %82 : tensor<24x32xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %86 = stablehlo.reduce(%83 init: %cst_25) applies stablehlo.add across dimensions = [0, 1] : (tensor<24x32xf32>, tensor<f32>) -> tensor<f32>
    %cst_26 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %87 = stablehlo.divide %86, %cst_26 : tensor<f32>
    %cst_27 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_28 = stablehlo.constant dense<7.680000e+02> : tensor<f32>
    %88 = stablehlo.divide %cst_27, %cst_28 : tensor<f32>
    %89 = stablehlo.broadcast_in_dim %88, dims = [] : (tensor<f32>) -> tensor<24x32xf32>
    %90 = stablehlo.multiply %89, %85 : tensor<24x32xf32>
    %91 = stablehlo.dot_general %90, %80, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x32xf32>, tensor<24x4x48xf32>) -> tensor<32x4x48xf32>
    %92 = stablehlo.transpose %91, dims = [1, 2, 0] : (tensor<32x4x48xf32>) -> tensor<4x48x32xf32>
    %93 = stablehlo.dot_general %90, %arg0, contracting_dims = [1] x [2], precision = [DEFAULT, DEFAULT] : (tensor<24x32xf32>, tensor<4x48x32xf32>) -> tensor<24x4x48xf32>
    %94 = stablehlo.dot_general %93, %79, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<24x4x48xf32>, tensor<24x4x48xf32>) -> tensor<24x4xf32>
    %95 = stablehlo.dot_general %93, %57, batching_dims = [0, 1] x [0, 1], contracting_dims = [] x [], precision = [DEFAULT, DEFAULT] : (tensor<24x4x48xf32>, tensor<24x4xf32>) -> tensor<24x4x48xf32>
    %96 = stablehlo.multiply %61, %95 : tensor<24x4x48xf32>
    %97 = stablehlo.multiply %95, %78 : tensor<24x4x48xf32>
    %cst_29 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %98 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<24x4x48xf32>
    %99 = stablehlo.multiply %98, %96 : tensor<24x4x48xf32>
    %100 = stablehlo.multiply %99, %74 : tensor<24x4x48xf32>
    %101 = stablehlo.multiply %100, %72 : tensor<24x4x48xf32>
    %102 = stablehlo.add %100, %101 : tensor<24x4x48xf32>
    %cst_30 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %103 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<24x4x48xf32>
    %104 = stablehlo.multiply %103, %102 : tensor<24x4x48xf32>
    %105 = stablehlo.add %97, %104 : tensor<24x4x48xf32>
    %cst_31 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %106 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<24x4x48xf32>
    %107 = stablehlo.multiply %106, %104 : tensor<24x4x48xf32>
    %108 = stablehlo.multiply %107, %66 : tensor<24x4x48xf32>
    %109 = stablehlo.add %105, %108 : tensor<24x4x48xf32>
    %110 = stablehlo.dot_general %109, %arg3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x4x48xf32>, tensor<24x32xf32>) -> tensor<4x48x32xf32>
    %111 = stablehlo.transpose %110, dims = [0, 2, 1] : (tensor<4x48x32xf32>) -> tensor<4x32x48xf32>
    %112 = stablehlo.broadcast_in_dim %60, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %113 = stablehlo.multiply %94, %112 : tensor<24x4xf32>
    %114 = stablehlo.multiply %113, %53#0 : tensor<24x4xf32>
    %cst_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %115 = stablehlo.reduce(%114 init: %cst_32) applies stablehlo.add across dimensions = [1] : (tensor<24x4xf32>, tensor<f32>) -> tensor<24xf32>
    %116 = stablehlo.reshape %115 : (tensor<24xf32>) -> tensor<24x1xf32>
    %117 = stablehlo.negate %116 : tensor<24x1xf32>
    %118 = stablehlo.broadcast_in_dim %55, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %119 = stablehlo.divide %94, %118 : tensor<24x4xf32>
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %120 = stablehlo.reduce(%117 init: %cst_33) applies stablehlo.add across dimensions = [1] : (tensor<24x1xf32>, tensor<f32>) -> tensor<24xf32>
    %121 = stablehlo.broadcast_in_dim %120, dims = [0] : (tensor<24xf32>) -> tensor<24x4xf32>
    %122 = stablehlo.add %119, %121 : tensor<24x4xf32>
    %123 = call @_where_1(%52, %53#1, %122) : (tensor<24x4xi1>, tensor<24x4xf32>, tensor<24x4xf32>) -> tensor<24x4xf32>
    %124 = stablehlo.broadcast_in_dim %29, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %125 = stablehlo.multiply %123, %124 : tensor<24x4xf32>
    %126 = stablehlo.multiply %125, %22 : tensor<24x4xf32>
    %cst_34 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %127 = stablehlo.reduce(%126 init: %cst_34) applies stablehlo.add across dimensions = [1] : (tensor<24x4xf32>, tensor<f32>) -> tensor<24xf32>
    %128 = stablehlo.reshape %127 : (tensor<24xf32>) -> tensor<24x1xf32>
    %129 = stablehlo.negate %128 : tensor<24x1xf32>
    %130 = stablehlo.broadcast_in_dim %24, dims = [0, 1] : (tensor<24x1xf32>) -> tensor<24x4xf32>
    %131 = stablehlo.divide %123, %130 : tensor<24x4xf32>
    %cst_35 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %132 = stablehlo.reduce(%129 init: %cst_35) applies stablehlo.add across dimensions = [1] : (tensor<24x1xf32>, tensor<f32>) -> tensor<24xf32>
    %133 = stablehlo.broadcast_in_dim %132, dims = [0] : (tensor<24xf32>) -> tensor<24x4xf32>
    %134 = stablehlo.add %131, %133 : tensor<24x4xf32>
    %135 = stablehlo.multiply %134, %22 : tensor<24x4xf32>
    %136 = stablehlo.dot_general %135, %arg3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24x4xf32>, tensor<24x32xf32>) -> tensor<4x32xf32>
    %137 = stablehlo.transpose %136, dims = [1, 0] : (tensor<4x32xf32>) -> tensor<32x4xf32>
    %cst_36 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %138 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<4x48x32xf32>
    %139 = stablehlo.multiply %138, %92 : tensor<4x48x32xf32>
    %140 = stablehlo.subtract %arg0, %139 : tensor<4x48x32xf32>
    %cst_37 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %141 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<32x4xf32>
    %142 = stablehlo.multiply %141, %137 : tensor<32x4xf32>
    %143 = stablehlo.subtract %arg1, %142 : tensor<32x4xf32>
    %cst_38 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %144 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<4x32x48xf32>
    %145 = stablehlo.multiply %144, %111 : tensor<4x32x48xf32>
    %146 = stablehlo.subtract %arg2, %145 : tensor<4x32x48xf32>
    return %140, %143, %146, %87 : tensor<4x48x32xf32>, tensor<32x4xf32>, tensor<4x32x48xf32>, tensor<f32>
  }
  func.func private @_where(%arg0: tensor<24x4xi1>, %arg1: tensor<f32>, %arg2: tensor<24x4xf32>) -> (tensor<24x4xf32>, tensor<24x4xf32>) {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<24x4xf32>
    %2 = stablehlo.select %arg0, %1, %arg2 : tensor<24x4xi1>, tensor<24x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<24x4xf32>
    return %2, %3 : tensor<24x4xf32>, tensor<24x4xf32>
  }
  func.func private @_where_0(%arg0: tensor<24x4xi1>, %arg1: tensor<24x4xf32>, %arg2: tensor<f32>) -> (tensor<24x4xf32>, tensor<24x4xf32>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<24x4xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<24x4xi1>, tensor<24x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<24x4xf32>
    return %2, %3 : tensor<24x4xf32>, tensor<24x4xf32>
  }
  func.func private @_where_1(%arg0: tensor<24x4xi1>, %arg1: tensor<24x4xf32>, %arg2: tensor<24x4xf32>) -> tensor<24x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<24x4xf32>
    %1 = stablehlo.select %arg0, %arg2, %0 : tensor<24x4xi1>, tensor<24x4xf32>
    return %1 : tensor<24x4xf32>
  }
}
