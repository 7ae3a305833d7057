model = dict(type="TinyDet", backbone=dict(type="ResNet", depth=18, style="pytorch"))
dataset_type = "TilesDataset"
optimizer = dict(type="SGD", lr=0.01, momentum=0.9, weight_decay=0.0001)
runner = dict(type="EpochBasedRunner", max_epochs=2)
log_config = dict(interval=50, hooks=[dict(type="TextLoggerHook")])
work_dir = "./work_dirs/tinydet_r18_lr0.01"
gpu_ids = range(0, 1)
